import { Controller, Get } from '@nestjs/common';
import {
  BoundTokensToo,
  CurrentPrincipal,
  type Principal,
  Scopes,
  SCOPES,
  SeesDeletedUsers,
} from '../../access/index.js';
import { Documented, INSTANT, json, named, objectOf, STRING, UUID } from '../../platform/api-docs/index.js';
import { NotFound } from '../../platform/http/index.js';
import type { UserEntity } from './auth.entities.js';
import { Users } from './users.js';

type UserWire = ReturnType<typeof userWire>;

const userWire = (user: UserEntity) => ({
  id: user.id,
  email: user.email,
  name: user.name,
  created_at: user.createdAt.toISOString(),
  updated_at: user.updatedAt.toISOString(),
});

const USER = named(
  'User',
  objectOf<UserWire>({ id: UUID, email: STRING, name: STRING, created_at: INSTANT, updated_at: INSTANT }),
);

const ME_DOCS = {
  tag: 'Account',
  operations: {
    me: {
      summary: 'Get the user of the token',
      answers: { 200: json('the user', USER), 404: 'the user of the JWT has been deleted' },
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
