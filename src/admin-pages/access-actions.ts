import { Injectable } from '@nestjs/common';
import {
  Administrators,
  FactorReset,
  generatePassword,
  PasswordReset,
  Suspensions,
  UserSessions,
} from '../auth/index.js';
import { passwordView } from './account-view.js';
import type { AdminAction } from './admin-door.js';
import type { AdminPage } from './admin-layout.js';

/** Returns a page to show, if it is not the account's own. */
export type AccountAction = (userId: string, action: AdminAction) => Promise<AdminPage | undefined>;

/** What administrators do to the access of an account. */
@Injectable()
export class AccessActions {
  constructor(
    private readonly suspensions: Suspensions,
    private readonly administrators: Administrators,
    private readonly userSessions: UserSessions,
    private readonly passwordReset: PasswordReset,
    private readonly factorReset: FactorReset,
  ) {}

  readonly suspend: AccountAction = async (userId, { by }) => {
    await this.suspensions.suspend(userId, by);
    return undefined;
  };

  readonly resume: AccountAction = async (userId, { by }) => {
    await this.suspensions.resume(userId, by);
    return undefined;
  };

  readonly demote: AccountAction = async (userId, { by }) => {
    await this.administrators.demote(userId, by);
    return undefined;
  };

  readonly endSessions: AccountAction = async (userId, { by }) => {
    await this.userSessions.endAllBut(userId, null, by);
    return undefined;
  };

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
}
