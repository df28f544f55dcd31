import { Column, Entity, IsNull, PrimaryGeneratedColumn, type Repository } from 'typeorm';

@Entity('users')
export class UserEntity {
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

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;

  /** Null unless the operator has suspended the account. */
  @Column('timestamptz', { nullable: true })
  suspendedAt: Date | null;

  /** Whether there is a `SecondFactor` that is verified; the identity library reads it. */
  @Column('boolean', { default: false })
  twoFactorEnabled: boolean;

  /** Null unless the user is an administrator. */
  @Column('timestamptz', { nullable: true })
  promotedAt: Date | null;
}

/** The address of a user who is not suspended. */
export async function addressOf(users: Repository<UserEntity>, id: string): Promise<string | undefined> {
  return (await users.findOneBy({ id, suspendedAt: IsNull() }))?.email;
}

/**
 * Creates a user whose address counts as confirmed: somebody other than its owner has vouched for it. @param email in lower case
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
