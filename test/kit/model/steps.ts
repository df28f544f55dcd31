import fc, { type AsyncCommand } from 'fast-check';
import type { AccountUnderTest } from './account-under-test.js';
import { ADVANCE, ANYTHING, type Intention, oneIn, SUBSCRIBING, WRITING } from './intentions.js';
import type { Answer, Operation } from './operations.js';
import type { State } from './state.js';
import { View } from './view.js';
import { type Exchange, expectations, explanations } from './worlds.js';

/** The states that are possible according to the model; nearly always one. */
export interface Belief {
  worlds: readonly State[];
  /** Number of ids drawn so far. */
  born: number;
  /** Number of names given, by kind. */
  readonly names: Map<string, number>;
}

/** An account and its clock. */
export interface Reality {
  readonly account: AccountUnderTest;
  readonly clock: { now(): Date; advance(ms: number): void };
  readonly tally: Tally;
  /** The operations so far, for the report: a step does not know the run that it belongs to. */
  readonly history: string[];
}

export interface Tally {
  sequences: number;
  /** Operations in sequences. */
  operations: number;
  /** Additional reads that check the state. */
  looks: number;
}

type Step = AsyncCommand<Belief, Reality>;

/** Operations that are sent at once: one, or two that may meet at the same path. */
class Together implements Step {
  constructor(
    private readonly intentions: readonly Intention[],
    private readonly isInOnePlace = false,
  ) {}

  check(): boolean {
    return true;
  }

  async run(belief: Belief, reality: Reality): Promise<void> {
    reality.clock.advance(1);
    await performTogether(belief, reality, this.resolved(belief, reality));
  }

  private resolved({ worlds, names }: Belief, { account }: Reality): Operation[] {
    const view = new View(worlds[0]!, account, names);
    const operations: Operation[] = [];
    for (const intention of this.intentions) {
      const [first] = operations;
      operations.push(intention(first && this.isInOnePlace ? view.besides(first) : view));
    }
    return operations;
  }
}

/** Lets time pass, mostly up to a night. */
class Later implements Step {
  constructor(
    private readonly ms: number,
    private readonly isNight: boolean,
  ) {}

  check(): boolean {
    return true;
  }

  async run(belief: Belief, reality: Reality): Promise<void> {
    reality.clock.advance(this.ms);
    reality.history.push(`${this.ms / 3_600_000} hours later`);
    if (this.isNight) await performTogether(belief, reality, [{ kind: 'night', at: 1 }]);
  }
}

/** The same at the other instance, like a retry of a client that got no answer in time. */
const again =
  (intention: Intention): Intention =>
  (view) => {
    const operation = intention(view);
    return 'at' in operation ? { ...operation, at: operation.at === 0 ? 1 : 0 } : operation;
  };

/** One operation, or two, of which one changes something; mostly both are on one workspace and path. */
const TOGETHER = fc
  .record({
    first: ANYTHING,
    second: oneIn(7, WRITING),
    how: fc.constantFrom('apart', 'in one place', 'twice', 'in one place'),
  })
  .map(({ first, second, how }): Step => {
    if (!second) return new Together([first]);
    return how === 'twice'
      ? new Together([second, again(second)], true)
      : new Together([first, second], how === 'in one place');
  });

const LATER = fc
  .record({ ms: ADVANCE, isNight: fc.constantFrom(true, false, true) })
  .map(({ ms, isNight }): Step => new Later(ms, isNight));

/** At most `most` steps, for `asyncModelRun`. @param replayPath as printed for a failed sequence */
export const steps = (
  most: number,
  replayPath?: string,
): ReturnType<typeof fc.commands<Belief, Reality, false>> =>
  fc.commands<Belief, Reality, false>(
    [
      fc.oneof(
        { weight: 100, arbitrary: TOGETHER },
        { weight: 10, arbitrary: LATER },
        { weight: 2, arbitrary: SUBSCRIBING.map((intention): Step => new Together([intention])) },
      ),
    ],
    { maxCommands: most, size: 'max', ...(replayPath === undefined ? {} : { replayPath }) },
  );

/** Sends operations at once. @throws when no serial order in the model explains the answers */
export async function performTogether(
  belief: Belief,
  { account, clock, tally, history }: Reality,
  operations: readonly Operation[],
): Promise<void> {
  history.push(operations.map(textOf).join(' | at once: '));
  const answers = await account.perform(operations);
  if (operations.some(({ kind }) => kind === 'delete workspace')) await account.settle();
  tally.operations += operations.length;
  const exchanges = operations.map((operation, index) => ({ operation, answer: answers[index]! }));
  believe(belief, exchanges, clock.now().getTime());
}

/** Sends reads at once, and compares each answer with the model. */
export async function lookAt(
  belief: Belief,
  { account, clock, tally }: Reality,
  operations: readonly Operation[],
): Promise<Answer[]> {
  const answers = await account.perform(operations);
  tally.looks += operations.length;
  for (const [index, operation] of operations.entries())
    believe(belief, [{ operation, answer: answers[index]! }], clock.now().getTime());
  return answers;
}

function believe(belief: Belief, exchanges: readonly Exchange[], now: number): void {
  const time = { now, born: belief.born };
  const worlds = explanations(belief.worlds, exchanges, time);
  if (worlds.length === 0) {
    const operations = exchanges.map(({ operation }) => operation);
    const answers = exchanges.map(({ answer }) => answer);
    const expected = expectations(belief.worlds, operations, time);
    const nearest = expected.find((one) => one.every(({ status }, i) => status === answers[i]?.status));
    expect(told(operations, answers)).toEqual(told(operations, nearest ?? expected[0] ?? []));
    throw new Error('no order explains the answers');
  }
  belief.worlds = worlds;
  belief.born += exchanges.length;
}

const told = (operations: readonly Operation[], answers: readonly unknown[]): object =>
  Object.fromEntries(
    operations.map((operation, index) => [`${index}: ${textOf(operation)}`, answers[index]]),
  );

/** An operation with its unusual parameters. */
function textOf({ kind, ...rest }: Operation): string {
  const unusual = Object.entries(rest).filter(
    ([name, value]) => value !== null && value !== false && !(name === 'by' && value === 'owner'),
  );
  const text = JSON.stringify(Object.fromEntries(unusual)).replace(/(.)\1{40,}/g, '$1…');
  return `${kind} ${text.replace(/"(\w+)":/g, '$1: ').replace(/,/g, ', ')}`;
}
