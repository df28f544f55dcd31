/**
 * `work` is called after the last hook of the test file. What it throws fails the file, beside the results of its tests.
 * Of `runtime/index.cjs`.
 */
declare function whenFileIsOver(work: () => void | Promise<void>): void;
