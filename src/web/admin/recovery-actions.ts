import { Injectable } from '@nestjs/common';
import { FactorReset, generatePassword, PasswordReset, ProviderLinks } from '../../domain/auth/index.js';
import type { AccountAction } from './account-action.js';
import { passwordView } from './account-view.js';

/** What administrators do for people who cannot sign in as they did. */
@Injectable()
export class RecoveryActions {
  constructor(
    private readonly passwordReset: PasswordReset,
    private readonly factorReset: FactorReset,
    private readonly providerLinks: ProviderLinks,
  ) {}

  /** For a user who has lost them. */
  readonly resetFactors: AccountAction = async (userId, { by }) => {
    await this.factorReset.run(userId, by);
    return undefined;
  };

  /** The new password is shown once. */
  readonly resetPassword: AccountAction = async (userId, { by }) => {
    const password = generatePassword();
    await this.passwordReset.run(userId, password, by);
    return passwordView(userId, password);
  };

  /** For a user whom the provider knows as somebody else now. */
  readonly unlink: AccountAction = async (userId, { by }) => {
    await this.providerLinks.unlink(userId, by);
    return undefined;
  };
}
