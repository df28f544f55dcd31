import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/index.js';
import { Database, statement } from '../../platform/database/index.js';

/** Time to sign in at the provider. The nightly job removes what is left. */
const LIFETIME_MS = 15 * 60_000;

const statements = {
  add: statement(
    'provider_sign_ins.add',
    `INSERT INTO auth_verifications (identifier, value, expires_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)`,
  ),

  /** Of several requests, one gets the row. */
  take: statement(
    'provider_sign_ins.take',
    'DELETE FROM auth_verifications WHERE identifier = $1 AND expires_at > $2 RETURNING value AS "returnTo"',
  ),
};

/** The sign-ins that have begun here and continue at the provider, for all instances. A row contains no secret. */
@Injectable()
export class ProviderSignIns {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * @param key known only to the browser that begins the sign-in
   * @param returnTo the path to which the browser returns afterwards
   */
  async add(key: string, returnTo: string): Promise<void> {
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + LIFETIME_MS);
    await this.database.run(statements.add, [identifierOf(key), returnTo, expiresAt, now]);
  }

  /** Ends a sign-in: each can be taken once. Returns the path, or undefined when there is no such sign-in. */
  async take(key: string): Promise<string | undefined> {
    const values = [identifierOf(key), this.clock.now()];
    const [taken] = await this.database.run<{ returnTo: string }>(statements.take, values);
    return taken?.returnTo;
  }
}

const identifierOf = (key: string): string => `single-sign-on:${key}`;
