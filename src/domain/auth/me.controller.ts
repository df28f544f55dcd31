import { Controller, Get } from '@nestjs/common';
import { NotFound } from '../../platform/http/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import {
  BoundTokensToo,
  CurrentPrincipal,
  type Principal,
  Scopes,
  SCOPES,
  SeesDeletedUsers,
} from '../../access/index.js';
import { ME_DOCS } from './auth.docs.js';
import type { UserEntity } from './user.entity.js';
import { Users } from './users.js';

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
