// For the files `*.both.spec.ts`, which run in both suites.

const isQuick = process.env['TEST_SUITE'] === 'quick';

/** How often a test tries: a few times in `npm test`, many times in `npm run test:deep`. */
export const rounds = (quick: number, deep: number): number => (isQuick ? quick : deep);

/** Of similar cases, `npm test` runs the first ones. */
export const firstOf = <T>(count: number, cases: readonly T[]): readonly T[] =>
  isQuick ? cases.slice(0, count) : cases;

/** Tests that take long: `npm test` skips them. */
export const itDeep: typeof it = isQuick ? it.skip : it;
export const describeDeep: typeof describe = isQuick ? describe.skip : describe;
