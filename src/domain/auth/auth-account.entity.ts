import {
  Column,
  Entity,
  type FindOptionsWhere,
  In,
  IsNull,
  Like,
  Not,
  PrimaryGeneratedColumn,
  type Repository,
} from 'typeorm';

/** A way to sign in to an account: its password, or its link to a provider of single sign-on. */
@Entity('auth_accounts')
export class AuthAccount {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** The subject at the provider; the id of the user beside a password. */
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

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}

/** The row that has the password of a user. */
export const credentialOf = (userId: string): { userId: string; providerId: string } => ({
  userId,
  providerId: 'credential',
});

/** The links of a user to providers of single sign-on, also to one that was configured earlier. */
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
