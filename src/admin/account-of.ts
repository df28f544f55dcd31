import type { INestApplicationContext } from '@nestjs/common';
import { type UserEntity, Users } from '../auth/index.js';
import { NotFound } from '../platform/http/index.js';

/** The account that a command is about. @throws NotFound */
export async function accountOf(service: INestApplicationContext, email: string): Promise<UserEntity> {
  const user = await service.get(Users).findByEmail(email);
  if (!user) throw new NotFound(`there is no account ${email}`);
  return user;
}
