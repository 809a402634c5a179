// Sliders for one fixed subset of the classes (S1-05).

export { makeForm } from "./sliders.js";
