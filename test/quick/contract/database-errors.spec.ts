import {
  isConnectionLost,
  isTransient,
  isUnanswered,
} from '../../../src/platform/database/database-errors.js';

const INTERNAL_ERROR = 'XX000';
const errorWith = (message: string): Error => Object.assign(new Error(message), { code: INTERNAL_ERROR });

describe('an internal error of an engine that distributes tables', () => {
  it.each([
    'failure on connection marked as essential: 10.0.0.7:5432',
    'connection not open',
    'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally\n\tbefore or while processing the request.\ninvalid socket',
    'could not receive data from server: Connection reset by peer',
    'could not send data to server: Broken pipe',
    'no connection to the server',
    'SSL connection has been closed unexpectedly',
    'SSL SYSCALL error: EOF detected',
    'postmaster was shut down, exiting',
  ])('counts as a lost connection when its message says so: %j', (message) => {
    const error = errorWith(message);
    expect([isConnectionLost(error), isUnanswered(error), isTransient(error)]).toEqual([true, true, true]);
  });

  it.each(['cache lookup failed for relation 4711', 'unexpected data beyond EOF', ''])(
    'counts as a fault otherwise: %j',
    (message) => {
      const error = errorWith(message);
      expect([isConnectionLost(error), isUnanswered(error), isTransient(error)]).toEqual([
        false,
        false,
        false,
      ]);
    },
  );
});

it('a transaction that the server has ended because of its age counts as transient', () => {
  const ended = Object.assign(new Error('terminating connection due to transaction timeout'), {
    code: '25P04',
  });
  expect(isTransient(ended)).toBe(true);
});
