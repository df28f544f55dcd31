import { Controller, Get } from '@nestjs/common';
import {
  BoundTokensToo,
  CurrentPrincipal,
  type Principal,
  Scopes,
  SCOPES,
  SeesDeletedUsers,
} from '../../access/index.js';
import {
  Documented,
  INSTANT,
  json,
  named,
  objectOf,
  type Schema,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { NotFound } from '../../platform/http/index.js';
import type { UserEntity } from './auth.entities.js';
import { Users } from './users.js';

const TAG = 'Account';

const EMAIL: Schema = { type: 'string' };

const USER = named(
  'User',
  objectOf<Record<'id' | 'email' | 'name' | 'created_at' | 'updated_at', string>>({
    id: UUID,
    email: EMAIL,
    name: STRING,
    created_at: INSTANT,
    updated_at: INSTANT,
  }),
);

const LOGGED_IN = objectOf<Record<'token' | 'userId' | 'email' | 'name', string>>({
  token: STRING,
  userId: UUID,
  email: EMAIL,
  name: STRING,
});

export const ME_DOCS = {
  tag: TAG,
  operations: {
    me: {
      summary: 'Get the user of the token',
      answers: { 200: json('the user', USER), 404: 'the user of the JWT has been deleted' },
    },
  },
} as const;

export const DEV_LOGIN_DOCS = {
  tag: TAG,
  operations: {
    devLogin: {
      summary: 'Get a service JWT for any email',
      description: 'For tests and development. Creates the user if it does not exist.',
      headers: { 'X-Dev-Login-Key': { description: 'The DEV_LOGIN_KEY of the service.', isRequired: true } },
      answers: {
        200: json('the token', LOGGED_IN),
        403: 'dev-login is not enabled, the key is wrong, or the account is suspended or has a second factor',
      },
    },
  },
} as const;

@Controller('api/v1/auth/me')
@Documented(ME_DOCS)
export class MeController {
  constructor(private readonly users: Users) {}

  @Get()
  @Scopes(...SCOPES)
  @BoundTokensToo('returns the user of the token')
  @SeesDeletedUsers()
  async me(@CurrentPrincipal() principal: Principal): Promise<UserWire> {
    const user = await this.users.find(principal.userId);
    if (!user) throw new NotFound('user not found');
    return userWire(user);
  }
}

interface UserWire {
  id: string;
  email: string;
  name: string;
  created_at: string;
  updated_at: string;
}

function userWire(user: UserEntity): UserWire {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    created_at: user.createdAt.toISOString(),
    updated_at: user.updatedAt.toISOString(),
  };
}
