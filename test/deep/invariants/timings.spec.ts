import { PASSWORD, numbered, json, LONGEST_MS, useTimedAnswers } from '../../kit/timed-answers.js';

describe('neither bytes nor time of an answer tell whether an address has an account', () => {
  const timed = useTimedAnswers();

  const WRONG = 'wrong horse battery staple';

  let fresh = 0;

  const body = { name: 'Somebody', password: PASSWORD };

  const freshAddress = { unknown: () => numbered('fresh', fresh++), atOnce: 8, leastMs: 149 };

  it(
    'sign-up over the API',
    () =>
      timed.expectAlike({
        begin: () => (email) => json('sign-up/email', { email, ...body }),
        ...freshAddress,
      }),
    LONGEST_MS,
  );

  it(
    'sign-up on the pages',
    () =>
      timed.expectAlike({
        begin: async () => {
          const submit = await timed.stranger('/account', 'Sign up');
          return (email) => submit({ email, ...body });
        },
        ...freshAddress,
        isBytesOnly: true,
      }),
    LONGEST_MS,
  );

  it(
    'a sign-in with a wrong password over the API',
    () => timed.expectAlike({ begin: () => (email) => json('sign-in/email', { email, password: WRONG }) }),
    LONGEST_MS,
  );

  it(
    'a sign-in with a wrong password on the pages',
    () =>
      timed.expectAlike({
        begin: async () => {
          const submit = await timed.stranger('/account', 'Sign in');
          return (email) => submit({ email, password: WRONG });
        },
      }),
    LONGEST_MS,
  );
});
