import { Controller, Delete } from '@nestjs/common';
import { CurrentPrincipal, Interactive, type Principal } from '../access/index.js';
import { JsonBody } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { AccountDeletion } from './account-deletion.js';
import { ACCOUNT_DOCS } from './account.docs.js';
import { DeleteAccountRequest } from './account.dto.js';

/** Extension of the contract: people can leave, and take all that is theirs along. */
@Controller('api/v1/auth/me')
@Documented(ACCOUNT_DOCS)
@Interactive()
export class AccountController {
  constructor(private readonly accountDeletion: AccountDeletion) {}

  @Delete()
  async delete(
    @CurrentPrincipal() { userId }: Principal,
    @JsonBody() { confirm }: DeleteAccountRequest,
  ): Promise<{ ok: true }> {
    await this.accountDeletion.delete(userId, confirm);
    return { ok: true };
  }
}
