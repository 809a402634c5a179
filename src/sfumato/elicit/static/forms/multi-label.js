// Yes, no or unsure for every class on its own; several may apply, or none.

export { makeForm } from "./yes-no-unsure.js";
