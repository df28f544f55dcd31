import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/', 'client/dist/', 'data/', 'node_modules/'] },
  ...tseslint.configs.strictTypeChecked.map((c) => ({ ...c, files: ['**/*.{ts,tsx}'] })),
  {
    files: ['**/*.{ts,tsx}'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-extraneous-class': 'off', // Nest modules are empty classes
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off', // Nest and TypeORM take literals as options
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      'no-console': 'error',
      'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    files: ['client/src/core/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['Buffer', 'process', 'setImmediate', 'global', 'window', 'document'].map((name) => ({
          name,
          message: 'The core runs in Node.js and in browsers.',
        })),
      ],
    },
  },
  { files: ['**/*.mjs'], rules: { 'no-dupe-keys': 'error' } },
  {
    files: ['examples/**/*.ts', 'bench/**/*.ts', 'client/src/cli/**/*.ts', 'src/operations/admin/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off', // flags that other callbacks change
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/unbound-method': 'off', // spies are handed to expect
    },
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['src/platform/config/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'The environment is read in src/platform/config alone.' },
        { object: 'Date', property: 'now', message: 'Time comes from the Clock.' },
      ],
      'no-restricted-imports': [
        'error',
        {
          name: '@nestjs/common',
          importNames: ['Body', 'RawBody'],
          message: 'Nothing validates what it gives; a body comes through JsonBody.',
        },
      ],
    },
  },
);
