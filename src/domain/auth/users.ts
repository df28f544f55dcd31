import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { asName, BadRequest, Conflict, NAME_RULE } from '../../platform/http/index.js';
import { type Client, columnsOfClient } from './identity-request.js';
import { claimsOf, type Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';
import { OPERATOR, PasswordHasher } from './password-hasher.js';
import { JWT_MINUTES } from './current-password.js';
import { addPassword, EMAIL_RULE, isEmailAddress } from './account-fields.js';
import { AuthAccount, createUser, credentialOf, UserEntity } from './auth.entities.js';

/** The users behind the identity handler. */
@Injectable()
export class Users {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
    @InjectRepository(AuthAccount) private readonly accounts: Repository<AuthAccount>,
    private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
  ) {}

  find(id: string): Promise<UserEntity | null> {
    return this.users.findOneBy({ id });
  }

  /** Also finds addresses that a new account could not have. */
  findByEmail(email: string): Promise<UserEntity | null> {
    return this.users.findOneBy({ email: email.toLowerCase() });
  }

  /** The user with this email, created without a password if absent. Safe to call concurrently. @throws BadRequest */
  async findOrCreate(email: string, name: string): Promise<UserEntity> {
    if (!isEmailAddress(email)) throw new BadRequest(`email ${EMAIL_RULE}`);
    const stored = asName(name);
    if (stored === undefined) throw new BadRequest(`name ${NAME_RULE}`);
    const address = email.toLowerCase();
    await createUser(this.users, { email: address, name: stored, now: this.clock.now() });
    return this.users.findOneByOrFail({ email: address });
  }

  /**
   * Creates an account with email and password. A user without a password, from dev-login or a crash between the two steps, gets
   * this one. @throws Conflict when the user already has a password, BadRequest for an invalid name or address
   */
  async create(email: string, name: string, password: string): Promise<UserEntity> {
    const user = await this.findOrCreate(email, name);
    if (await this.hasPassword(user.id)) throw new Conflict(`an account for ${email} already exists`);
    await addPassword(this.accounts, user.id, await this.hasher.hash(password, OPERATOR), this.clock.now());
    return user;
  }

  /** @throws BadRequest for a name that cannot be stored */
  async rename(userId: string, name: string): Promise<void> {
    const stored = asName(name);
    if (stored === undefined) throw new BadRequest(`name ${NAME_RULE}`);
    await this.users.update({ id: userId }, { name: stored, updatedAt: this.clock.now() });
  }

  /** Whether the user can sign in with a password. */
  hasPassword(userId: string): Promise<boolean> {
    return this.accounts.existsBy(credentialOf(userId));
  }

  /** The addresses of users, by id; those that do not exist are absent. */
  async emails(ids: readonly (string | null)[]): Promise<ReadonlyMap<string, string>> {
    const known = [...new Set(ids.filter((id) => id !== null))];
    const rows = await this.users.find({ select: { id: true, email: true }, where: { id: In(known) } });
    return new Map(rows.map(({ id, email }) => [id, email]));
  }

  /** A service JWT for a user, valid for `JWT_MINUTES` from now, from a new session. @throws AccountSuspended */
  async signIn(userId: string, { ip = '', userAgent = '' }: Partial<Client>): Promise<string> {
    const now = this.clock.now();
    const { internalAdapter, sessionConfig } = await this.identity.$context;
    const expiresAt = new Date(now.getTime() + sessionConfig.expiresIn * 1000);
    const session = { ...columnsOfClient({ ip, userAgent }), confirmedAt: now, expiresAt };
    const { id } = await internalAdapter.createSession(userId, false, session, true);
    const iat = Math.floor(now.getTime() / 1000);
    const { token } = await this.identity.api.signJWT({
      body: { payload: { sub: userId, iat, exp: iat + JWT_MINUTES * 60, ...claimsOf(id, now) } },
    });
    return token;
  }
}
