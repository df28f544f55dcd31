import { Controller, Delete, Req } from '@nestjs/common';
import { IsString } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { CurrentPrincipal, Interactive, type Principal } from '../../access/index.js';
import { byUser } from '../auth/audit/index.js';
import { Documented, json, OK } from '../../platform/api-docs/index.js';
import { JsonBody } from '../../platform/http/index.js';
import { RecentSignIn } from '../auth/index.js';
import { AccountDeletion } from './account-deletion.js';

class DeleteAccountRequest {
  /** The account's own email address, so that nobody deletes it by accident. */
  @IsString({ message: 'confirm must be the email address of the account' })
  confirm: string;
}

const ACCOUNT_DOCS = {
  tag: 'Account',
  operations: {
    delete: {
      id: 'auth.deleteMe',
      summary: 'Delete the account and all its data',
      description: 'Deletes its workspaces, files, assets, devices and tokens too. This cannot be undone.',
      answers: {
        200: json('the account is deleted', OK),
        403: 'the user last signed in more than ten minutes ago, or the token is not a JWT of a session',
      },
    },
  },
} as const;

/** Extension of the contract: users can delete their account with all their data. */
@Controller('api/v1/auth/me')
@Documented(ACCOUNT_DOCS)
@Interactive()
export class AccountController {
  constructor(
    private readonly accountDeletion: AccountDeletion,
    private readonly recentSignIn: RecentSignIn,
  ) {}

  @Delete()
  async delete(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() { confirm }: DeleteAccountRequest,
    @Req() request: FastifyRequest,
  ): Promise<{ ok: true }> {
    this.recentSignIn.require(principal);
    await this.accountDeletion.delete(principal.userId, confirm, byUser(request));
    return { ok: true };
  }
}
