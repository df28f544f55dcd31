import {
  Column,
  Entity,
  type FindOptionsWhere,
  In,
  IsNull,
  Like,
  MoreThan,
  Not,
  Or,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Repository,
} from 'typeorm';
import type { Scope } from '../../access/index.js';

/** A row of the identity library. A session is updated when its expiry is extended. */
abstract class Stamped {
  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}

/** A personal access token. Only its hash is stored. */
@Entity('access_tokens')
export class AccessToken {
  /** UUIDv7: descending is newest first. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  @Column('text')
  name: string;

  /** SHA-256; loaded only when a query selects it explicitly. */
  @Column('bytea', { select: false })
  tokenHash: Buffer;

  @Column('text', { array: true })
  scopes: Scope[];

  /** Null when the token is valid for all workspaces of its owner. */
  @Column('uuid', { nullable: true })
  workspaceId: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  expiresAt: Date | null;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;
}

/** Tokens that are neither revoked nor expired. */
export const liveTokens = (now: Date): FindOptionsWhere<AccessToken> => ({
  revokedAt: IsNull(),
  expiresAt: Or(IsNull(), MoreThan(now)),
});

/** A way to sign in to an account: its password, or its link to a provider of single sign-on. */
@Entity('auth_accounts')
export class AuthAccount extends Stamped {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** The subject at the provider, or the user's id for a password. */
  @Column('text')
  accountId: string;

  /** `credential`, or `oidc:` and the issuer. */
  @Column('text')
  providerId: string;

  @Column('text', { nullable: true })
  accessToken: string | null;

  @Column('text', { nullable: true })
  refreshToken: string | null;

  @Column('text', { nullable: true })
  idToken: string | null;

  @Column('timestamptz', { nullable: true })
  accessTokenExpiresAt: Date | null;

  @Column('timestamptz', { nullable: true })
  refreshTokenExpiresAt: Date | null;

  @Column('text', { nullable: true })
  scope: string | null;

  /** A hash. */
  @Column('text', { nullable: true })
  password: string | null;
}

/** Selects the row with a user's password. */
export const credentialOf = (userId: string): { userId: string; providerId: string } => ({
  userId,
  providerId: 'credential',
});

/** Selects a user's links to single sign-on providers, including formerly configured ones. */
export const linkOf = (userId: string): FindOptionsWhere<AuthAccount> => ({
  userId,
  providerId: Like('oidc:%'),
});

/** Whether one of the hashes is that of the user's password. */
export const hasPassword = (
  accounts: Repository<AuthAccount>,
  userId: string,
  hashes: readonly string[],
): Promise<boolean> => accounts.existsBy({ ...credentialOf(userId), password: In(hashes) });

/** The hash of a user's password; undefined without one. */
export async function passwordHashOf(
  accounts: Repository<AuthAccount>,
  userId: string,
): Promise<string | undefined> {
  const found = await accounts.findOneBy({ ...credentialOf(userId), password: Not(IsNull()) });
  return found?.password ?? undefined;
}

/** A session in a browser or an app. When it ends or its id changes, a trigger inserts the old id into `ended_sessions`. */
@Entity('auth_sessions')
export class AuthSession extends Stamped {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** A secret: it must not leave the service; loaded only when a query selects it explicitly. */
  @Column('text', { select: false })
  token: string;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('text', { nullable: true })
  ipAddress: string | null;

  @Column('text', { nullable: true })
  userAgent: string | null;

  /** When a password or another factor was last given in the session. */
  @Column('timestamptz', { nullable: true })
  confirmedAt: Date | null;

  /** When a code or a passkey was last given in it; null if none was. */
  @Column('timestamptz', { nullable: true })
  factorAt: Date | null;
}

/**
 * A pending verification: an unused one-time token, a sign-in that waits for its code (`2fa-…`) or one that continues at the
 * provider (`single-sign-on:…`).
 */
@Entity('auth_verifications')
export class AuthVerification extends Stamped {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('text')
  identifier: string;

  @Column('text')
  value: string;

  @Column('timestamptz')
  expiresAt: Date;
}

/** An ended session whose JWTs may not have expired yet. */
@Entity('ended_sessions')
export class EndedSession {
  @PrimaryColumn('uuid')
  sessionId: string;

  @Column({ type: 'timestamptz', insert: false })
  endedAt: Date;
}

/** An open invitation. Only the hash of its link's token is stored. */
@Entity('invitations')
export class Invitation {
  /** In lower case. */
  @PrimaryColumn('text')
  email: string;

  /** SHA-256; loaded only when a query selects it explicitly. */
  @Column('bytea', { select: false })
  tokenHash: Buffer;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}

/** A network from which a user has signed in. */
@Entity('known_networks')
export class KnownNetwork {
  @PrimaryColumn('uuid')
  userId: string;

  @PrimaryColumn('text')
  network: string;

  @Column('timestamptz')
  lastSeenAt: Date;
}

export type LinkPurpose = 'reset-password' | 'verify-email' | 'change-email';

/** The newest link of a user for a purpose. Only the hash of its token is stored. */
@Entity('mail_links')
export class MailLink {
  @PrimaryColumn('uuid')
  userId: string;

  @PrimaryColumn('text')
  purpose: LinkPurpose;

  /** SHA-256. */
  @Column('bytea')
  tokenHash: Buffer;

  /** The address that it was sent to. */
  @Column('text')
  email: string;

  @Column('timestamptz')
  requestedAt: Date;

  @Column('timestamptz')
  expiresAt: Date;

  @Column('timestamptz', { nullable: true })
  usedAt: Date | null;
}

/** A key that signs the service's JWTs. */
@Entity('auth_jwks')
export class SigningKey {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  /** A JWK, as JSON. */
  @Column('text')
  publicKey: string;

  /** Encrypted with AUTH_SECRET. */
  @Column('text', { select: false })
  privateKey: string;

  @Column('text', { nullable: true })
  alg: string | null;

  @Column('text', { nullable: true })
  crv: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  expiresAt: Date | null;
}

@Entity('users')
export class UserEntity extends Stamped {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** In lower case. */
  @Column('text')
  email: string;

  @Column('boolean')
  emailVerified: boolean;

  @Column('text', { nullable: true })
  image: string | null;

  /** Null unless the operator has suspended the account. */
  @Column('timestamptz', { nullable: true })
  suspendedAt: Date | null;

  /** Whether the user has a verified `SecondFactor`; the identity library reads it. */
  @Column('boolean', { default: false })
  twoFactorEnabled: boolean;

  /** Null unless the user is an administrator. */
  @Column('timestamptz', { nullable: true })
  promotedAt: Date | null;
}

/** The address of a user; undefined if there is none, or the user is suspended. */
export async function addressOf(users: Repository<UserEntity>, id: string): Promise<string | undefined> {
  return (await users.findOneBy({ id, suspendedAt: IsNull() }))?.email;
}

/**
 * Creates a user whose address counts as confirmed: an operator, an invitation or a provider vouches for it.
 * @param email in lower case
 * @returns the id; undefined when the address has an account
 */
export async function createUser(
  users: Repository<UserEntity>,
  { email, name, now }: { readonly email: string; readonly name: string; readonly now: Date },
): Promise<string | undefined> {
  const user = { email, name, emailVerified: true, createdAt: now, updatedAt: now };
  const insert = users.createQueryBuilder().insert().values(user).orIgnore().returning('id');
  const [added] = (await insert.execute()).raw as { id: string }[];
  return added?.id;
}

/** The recent attempts of one kind for one account: wrong passwords, wrong codes or requested mails. */
@Entity('wrong_passwords')
export class WrongPassword {
  /** SHA-256 of the kind and the account. */
  @PrimaryColumn('bytea')
  key: Buffer;

  /** Newest first. */
  @Column('timestamptz', { array: true })
  triedAt: Date[];

  @Column('timestamptz')
  lastAt: Date;
}
