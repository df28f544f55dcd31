/** `work` is called after the last hook of the test file; when it throws, the file has failed. Of `runtime/index.cjs`. */
declare function whenFileIsOver(work: () => void): void;
