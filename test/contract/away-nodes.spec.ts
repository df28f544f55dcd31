import type { Pool } from 'pg';
import { eventually } from '../kit/index.js';
import { AmbiguousCommit, isUnanswered } from '../../src/platform/database/index.js';
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

/** As the engine (Citus 13.2.2 on PostgreSQL 15) says them, with the code; `where` is the context of an internal error. */
const AT = `connection to the remote node sync@${NODE} failed with the following error:`;
const SAID: readonly [string, { code: string; message: string; where?: string }][] = [
  [
    'refuses',
    {
      code: '08006',
      message: `${AT} Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?`,
    },
  ],
  [
    'refuses, in German',
    {
      code: '08006',
      message: `${AT} Verbindungsaufbau abgelehnt\n\tLäuft der Server auf diesem Host und akzeptiert er TCP/IP-Verbindungen?`,
    },
  ],
  ['has ended in the middle', { code: '08006', message: `${AT} connection not open` }],
  [
    'has a name that is unknown',
    {
      code: '08006',
      message: `${AT} could not translate host name "nowhere.invalid" to address: Name or service not known`,
    },
  ],
  [
    'rejects the coordinator',
    {
      code: '08006',
      message: `${AT} FATAL:  pg_hba.conf rejects connection for host "127.0.0.1", user "sync", database "o1", SSL encryption`,
    },
  ],
  ['wants a password', { code: '08006', message: `${AT} fe_sendauth: no password supplied` }],
  ['is full', { code: '08006', message: `${AT} FATAL:  sorry, too many clients already` }],
  [
    'is full for the database',
    { code: '08006', message: `${AT} FATAL:  too many connections for database "o1"` },
  ],
  ['starts', { code: '08006', message: `${AT} FATAL:  the database system is starting up` }],
  [
    'recovers',
    {
      code: '08006',
      message: `${AT} FATAL:  the database system is not yet accepting connections\nDETAIL:  Consistent recovery state has not been yet reached.`,
    },
  ],
  ['shuts down', { code: '08006', message: `${AT} FATAL:  the database system is shutting down` }],
  [
    'is silent',
    { code: '08006', message: `could not establish any connections to the node ${NODE} after 3000 ms` },
  ],
  ['cannot be waited for', { code: '08006', message: `connection establishment for node ${NODE} failed` }],
  [
    'was lost in a transaction',
    { code: 'XX000', message: `failure on connection marked as essential: ${NODE}` },
  ],
  [
    'was lost at its end',
    {
      code: 'XX000',
      message: 'SSL SYSCALL error: EOF detected\ninvalid socket',
      where: `while executing command on ${NODE}`,
    },
  ],
];

describe('a node that the coordinator cannot reach', () => {
  it.each(SAID)('is known by what the engine says when it %s', (_, said) => {
    const error = Object.assign(new Error(said.message), said);
    const { nodes } = nodesWith([false]);
    nodes.note(error);
    expect(nodes.has(NODE)).toBe(true);
    nodes.stop();
    expect(isUnanswered(new AmbiguousCommit(error))).toBe(true);
    if (said.where === undefined) expect(isUnanswered(error)).toBe(true);
  });

  it('is asked for when an error leaves that open, and is not away while it or nobody answers', async () => {
    const { nodes, changes } = nodesWith([true, new Error('the coordinator is away'), false, true]);
    expect([await nodes.isAway(NODE), await nodes.isAway(NODE)]).toEqual([false, false]);
    expect(changes).toEqual([]);
    expect(await nodes.isAway(NODE)).toBe(true);
    await eventually(() => expect(nodes.isAny).toBe(false));
  });

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
    [
      'an internal error of the coordinator',
      Object.assign(new Error('cache lookup failed'), { code: 'XX000' }),
    ],
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
