/** Calls `work` after the last hook of the test file. An error in it fails the file. Defined in `runtime/index.cjs`. */
declare function whenFileIsOver(work: () => void | Promise<void>): void;
