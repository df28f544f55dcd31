import { Invitations } from '../../../src/domain/accounts/index.js';
import { BASE_URL } from '../../kit/index.js';
import { Visitor } from '../../kit/visitor.js';
import {
  PASSWORD,
  ADDRESSES,
  withAccount,
  withoutAccount,
  json,
  form,
  LONGEST_MS,
  useTimedAnswers,
} from '../../kit/timed-answers.js';

describe('neither bytes nor time of an answer tell whether an address has an account', () => {
  const timed = useTimedAnswers();

  it(
    'a forgotten password over the API',
    () => timed.expectAlike({ begin: () => (email) => json('request-password-reset', { email }) }),
    LONGEST_MS,
  );

  it(
    'a forgotten password on the pages',
    () =>
      timed.expectAlike({
        begin: async () => {
          const submit = await timed.stranger('/account/forgot', 'Forgotten password');
          return (email) => submit({ email });
        },
        isBytesOnly: true,
      }),
    LONGEST_MS,
  );

  it(
    'a request for another link to confirm an address',
    () => timed.expectAlike({ begin: () => (email) => json('send-verification-email', { email }) }),
    LONGEST_MS,
  );

  it(
    'a change of the address of an account',
    () =>
      timed.expectAlike({
        begin: async () => {
          const visitor = new Visitor(timed.service.url);
          const values = { email: 'prober@example.org', password: PASSWORD };
          await visitor.submit(await visitor.get('/account'), 'Sign in', values);
          const submit = form(visitor, await visitor.get('/account'), 'Change address');
          return (email) => submit({ email });
        },
      }),
    LONGEST_MS,
  );

  it(
    'an invitation that is opened',
    () =>
      timed.expectAlike({
        begin: async () => {
          const links = new Map<string, string>();
          for (let at = 0; at < ADDRESSES; at++)
            for (const email of [withAccount(at), withoutAccount(at)]) links.set(email, await invited(email));
          const visitor = new Visitor(timed.service.url);
          await visitor.get('/account');
          return (email) => {
            const path = links.get(email)!;
            const secrets = [path.slice(path.indexOf('=') + 1)];
            return { path, method: 'GET', headers: { Cookie: visitor.cookie }, secrets };
          };
        },
      }),
    LONGEST_MS,
  );

  /** The path of an invitation's link, for an address that may have got an account since. */
  async function invited(email: string): Promise<string> {
    const hide = `UPDATE users SET email = $2 WHERE email = $1`;
    await timed.service.database.query(hide, [email, `hidden-${email}`]);
    const { link } = await timed.service.app.get(Invitations).invite(email, { actor: 'operator' });
    await timed.service.database.query(hide, [`hidden-${email}`, email]);
    return link.slice(BASE_URL.length);
  }
});
