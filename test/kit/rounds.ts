// For the files `*.both.spec.ts`, which run in both suites.

const isQuick = process.env['TEST_SUITE'] === 'quick';

/** How often a test tries: a few times in `npm test`, many times in `npm run test:deep`. */
export const rounds = (quick: number, deep: number): number => (isQuick ? quick : deep);

/** Limits similar cases to the first ones in `npm test`. */
export const firstOf = <T>(count: number, cases: readonly T[]): readonly T[] =>
  isQuick ? cases.slice(0, count) : cases;

/** Tests that take long: `npm test` skips them. */
export const itDeep = ofThisFile(() => (isQuick ? it.skip : it));
export const describeDeep = ofThisFile(() => (isQuick ? describe.skip : describe));

/** Each test file has its own `it` and `describe`, and a module of the kit is loaded once for all files of a worker. */
function ofThisFile<Declare extends jest.It | jest.Describe>(declare: () => Declare): Declare {
  return new Proxy((() => undefined) as unknown as Declare, {
    apply: (_target, _this, values) =>
      Reflect.apply(declare() as (...all: unknown[]) => unknown, undefined, values),
    get: (_target, name) => Reflect.get(declare(), name) as unknown,
  });
}
