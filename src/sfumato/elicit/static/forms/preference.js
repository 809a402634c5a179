// Which of two is better, or a tie.

export { makeForm } from "./triplets.js";
