import type { Pool } from 'pg';
import { eventually } from '../kit/index.js';
import { AwayNodes } from '../../src/platform/database/distribution/away-nodes.js';

const NODE = '10.0.0.7:5432';
const failed = new Error(
  `connection to the remote node sync@${NODE} failed with the following error: Connection refused\n\tIs the server running?`,
);

/** The coordinator's answers, in order. */
function nodesWith(answers: (boolean | Error)[]) {
  const asked: unknown[][] = [];
  const changes: [string, boolean][] = [];
  const query = (_: string, values: unknown[]): Promise<object> => {
    asked.push(values);
    const answer = answers.shift();
    return answer instanceof Error
      ? Promise.reject(answer)
      : Promise.resolve({ rows: [{ answers: answer }] });
  };
  const nodes = new AwayNodes(
    { query } as unknown as Pool,
    (node, isAway) => changes.push([node, isAway]),
    1,
  );
  return { nodes, asked, changes };
}

describe('a node that the coordinator cannot reach', () => {
  it('is away until the coordinator reaches it again, whatever becomes of its looks', async () => {
    const { nodes, asked, changes } = nodesWith([false, new Error('the coordinator is away'), true]);
    nodes.note(failed);
    nodes.note(failed);
    expect([nodes.has(NODE), nodes.isAny]).toEqual([true, true]);
    await eventually(() => expect([nodes.has(NODE), nodes.isAny]).toEqual([false, false]));
    expect(asked).toEqual(Array(3).fill(['10.0.0.7', '5432']));
    expect(changes).toEqual([
      [NODE, true],
      [NODE, false],
    ]);
  });

  it.each([
    ['another error', new Error('relation "x" does not exist')],
    ['an error of this process', new Error('connect ECONNREFUSED 10.0.0.7:5432')],
    ['no error', undefined],
  ])('is not told by %s', (_, error) => {
    const { nodes } = nodesWith([]);
    nodes.note(error);
    expect(nodes.isAny).toBe(false);
  });

  it('is not told after the end', () => {
    const { nodes } = nodesWith([]);
    nodes.stop();
    nodes.note(failed);
    expect(nodes.isAny).toBe(false);
  });
});
