import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Role, Target } from './network.js';
import { json, Peer } from './peer.js';

/** An account and its credentials. Plain data that can be sent to other processes. */
export interface Person {
  readonly userId: string;
  readonly email: string;
  readonly password: string;
  /** The session token, which `GET /api/auth/token` exchanges for JWTs. */
  readonly session: string;
}

const TRIES = 5;

/** Signs up from a separate address and starts the trial. @throws when either is refused */
export async function signUp(target: Target, role: Role, n: number): Promise<Person> {
  const peer = new Peer(target, role, n);
  const [email, password] = [
    `${role}-${n}-${randomBytes(4).toString('hex')}@example.org`,
    randomBytes(18).toString('hex'),
  ];
  const headers = { origin: target.origin };
  const { token: session, user } = json<{ token: string; user: { id: string } }>(
    await peer.sendJson('POST', '/api/auth/sign-up/email', { email, password, name: email }, { headers }),
  );
  const person = { userId: user.id, email, password, session };
  json(await peer.send('POST', '/api/v1/subscription/trial', { token: await mintJwt(peer, person) }));
  peer.close();
  return person;
}

/** A JWT that is valid for a quarter of an hour. @throws when the service refuses, or issues none in five tries */
export async function mintJwt(peer: Peer, { session }: Person): Promise<string> {
  for (let tries = 1; ; tries++) {
    const answer = await peer.send('GET', '/api/auth/token', { token: session });
    if ((answer.status > 0 && answer.status < 500) || tries === TRIES)
      return json<{ token: string }>(answer).token;
    await pause(1000);
  }
}
