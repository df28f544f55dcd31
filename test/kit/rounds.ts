/** How often a test in a `*.rounds.spec.ts` tries: `npm test` runs it with a few rounds, `npm run test:deep` with many. */
export const rounds = (quick: number, deep: number): number =>
  process.env['TEST_SUITE'] === 'deep' ? deep : quick;
