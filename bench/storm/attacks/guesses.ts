import { randomBytes } from 'node:crypto';
import { type Attack, paced } from './attack.js';
import { inTurn } from '../turns.js';

/** Sign-ins and sign-ups from many networks at once, each within its limits. */
const signIns: Attack = {
  name: 'sign-ins',
  by: 'stranger',
  run: (scene) =>
    paced(scene, { perSecond: 40, atOnce: 80 }, async (n) => {
      const { target, hostile } = scene;
      const peer = scene.peer('crowd', n, { isKept: false });
      const leave = (): void => peer.close();
      scene.signal.addEventListener('abort', leave);
      const headers = { origin: target.origin };
      const password = randomBytes(12).toString('hex');
      const email = n % 2 === 0 ? hostile.email : `nobody-${n}-${password}@example.org`;
      const { status } =
        n % 8 === 7
          ? await peer.sendJson(
              'POST',
              '/api/auth/sign-up/email',
              { email: `new-${email}`, password, name: 'New' },
              { headers },
            )
          : await peer.sendJson('POST', '/api/auth/sign-in/email', { email, password }, { headers });
      scene.signal.removeEventListener('abort', leave);
      scene.count(String(status));
    }),
};

/** Requests with invalid tokens, up to 200 a second. They have the length of valid ones, so each is looked up. */
const badTokens: Attack = {
  name: 'bad-tokens',
  by: 'stranger',
  run: (scene) => {
    const peers = Array.from({ length: 8 }, (_, n) => scene.peer('stranger', n));
    return paced(scene, { perSecond: 200, atOnce: 32 }, async (n) => {
      const token =
        n % 2 === 0 ? `pat_${randomBytes(32).toString('base64url')}` : 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln';
      const { status } = await inTurn(peers, n).send('GET', '/api/v1/workspaces', { token });
      scene.count(String(status));
    });
  },
};

/** Payment events with a wrong signature, small enough for the service to read. */
const webhooks: Attack = {
  name: 'webhooks',
  by: 'stranger',
  run: (scene) => {
    const peers = Array.from({ length: 8 }, (_, n) => scene.peer('stranger', n));
    const body = Buffer.from(
      JSON.stringify({ id: 'evt_1', type: 'customer.subscription.updated', padding: 'x'.repeat(100_000) }),
    );
    return paced(scene, { perSecond: 30, atOnce: 16 }, async (n) => {
      const headers = {
        'content-type': 'application/json',
        'payment-signature': `t=${Math.trunc(Date.now() / 1000)},v1=${'0'.repeat(64)}`,
      };
      const { status } = await inTurn(peers, n).send('POST', '/api/v1/webhooks/payment', {
        headers,
        body,
      });
      scene.count(String(status));
    });
  },
};

export const GUESSES: readonly Attack[] = [signIns, badTokens, webhooks];
