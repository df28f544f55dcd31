import { Injectable } from '@nestjs/common';
import { Administrators, Suspensions, UserSessions } from '../../domain/auth/index.js';
import type { AccountAction } from './account-action.js';
import { RecoveryActions } from './recovery-actions.js';

/** What administrators do to the access of an account. */
@Injectable()
export class AccessActions {
  constructor(
    private readonly suspensions: Suspensions,
    private readonly administrators: Administrators,
    private readonly userSessions: UserSessions,
    readonly recovery: RecoveryActions,
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
}
