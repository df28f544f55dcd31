/** Options that compile TypeScript, for the build and for tests. @param path of the source file */
exports.swcOptions = (path) => ({
  filename: path,
  sourceFileName: path,
  sourceMaps: true,
  jsc: {
    target: 'es2023',
    keepClassNames: true,
    parser: { syntax: 'typescript', decorators: true, tsx: path.endsWith('.tsx') },
    transform: {
      legacyDecorator: true,
      decoratorMetadata: true,
      useDefineForClassFields: false,
      react: { runtime: 'automatic', importSource: 'preact' },
    },
  },
  module: { type: 'es6' },
  swcrc: false,
});
