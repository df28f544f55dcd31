import { isDeepStrictEqual } from 'node:util';
import { purge } from './account.js';
import { isAnswerToBatch } from './batches.js';
import type { Answer, Operation } from './operations.js';
import { perform } from './perform.js';
import type { State } from './state.js';

/** An operation and the answer of the service. */
export interface Exchange {
  readonly operation: Operation;
  readonly answer: Answer;
}

/** The answers in one serial order, and the state after it. */
interface History {
  readonly state: State;
  readonly answers: ReadonlyMap<Operation, Answer>;
}

/** The time of operations that were sent together, and the number of ids drawn before. */
interface Time {
  readonly now: number;
  readonly born: number;
}

/**
 * The possible states after operations that were sent together: those in which some serial order explains
 * each answer. Ids may have been drawn in another order, and a deleted workspace may have been emptied in
 * between. When the answers do not decide, several states are left until later answers decide.
 */
export function explanations(worlds: readonly State[], exchanges: readonly Exchange[], time: Time): State[] {
  const fitting = histories(
    worlds,
    exchanges.map(({ operation }) => operation),
    time,
  ).filter((history) => exchanges.every((exchange) => isExplained(history, exchange)));
  return distinct(fitting.map(({ state }) => purge(state)));
}

function isExplained({ state, answers }: History, { operation, answer }: Exchange): boolean {
  const expected = answers.get(operation);
  if (operation.kind !== 'batch upload' || expected?.status !== 200 || answer.status !== 200)
    return isDeepStrictEqual(expected, answer);
  const workspace = state.workspaces.find(({ name }) => name === operation.workspace);
  return isAnswerToBatch(expected, answer, workspace?.log.length ?? Infinity);
}

/** The possible answers to the operations, by serial order. */
export function expectations(
  worlds: readonly State[],
  operations: readonly Operation[],
  time: Time,
): Answer[][] {
  return histories(worlds, operations, time).map(({ answers }) => operations.map((one) => answers.get(one)!));
}

function histories(
  worlds: readonly State[],
  operations: readonly Operation[],
  { now, born }: Time,
): History[] {
  const orders = permutations(operations);
  const found: History[] = [];
  for (const state of worlds)
    for (const order of orders)
      for (const ids of orders)
        for (const isPurgedAtOnce of operations.length > 1 ? [false, true] : [false])
          found.push(
            inTurn(state, order, {
              isPurgedAtOnce,
              momentOf: (one) => ({ now, born: born + ids.indexOf(one) }),
            }),
          );
  return found;
}

interface Circumstances {
  readonly isPurgedAtOnce: boolean;
  readonly momentOf: (operation: Operation) => Time;
}

function inTurn(
  before: State,
  operations: readonly Operation[],
  { isPurgedAtOnce, momentOf }: Circumstances,
): History {
  const answers = new Map<Operation, Answer>();
  let state = before;
  for (const operation of operations) {
    const done = perform(state, operation, momentOf(operation));
    answers.set(operation, done.answer);
    state = isPurgedAtOnce ? purge(done.state) : done.state;
  }
  return { state, answers };
}

/** States that differ visibly; otherwise their number would double with every pair of operations. */
function distinct(states: readonly State[]): State[] {
  return [...new Map(states.map((state) => [seen(state), state])).values()];
}

/** Only the order of ids among their kind is visible, and these lists have no other order. */
function seen({ workspaces, tokens, ...rest }: State): string {
  const inside = workspaces.map(({ files, checkpoints, ...workspace }) => ({
    ...workspace,
    files: byPlace(files, ({ path }) => path),
    checkpoints: byPlace(checkpoints, ({ name }) => name),
  }));
  const byName = ({ name }: { name: string }): string => name;
  return JSON.stringify({ ...rest, workspaces: byPlace(inside, byName), tokens: byPlace(tokens, byName) });
}

function byPlace<T extends { born: number }>(
  items: readonly T[],
  nameOf: (item: T) => string,
): [string, T][] {
  return items
    .toSorted((a, b) => a.born - b.born)
    .map((item, born): [string, T] => [nameOf(item), { ...item, born }])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}
