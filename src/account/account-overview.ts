import { Injectable } from '@nestjs/common';
import { StorageQuota, type StorageUsage } from '../assets/index.js';
import {
  Administrators,
  type BrowserSession,
  type ListedPasskey,
  type ListedSession,
  Passkeys,
  SecondFactors,
  UserSessions,
} from '../auth/index.js';
import { type Subscription, Subscriptions } from '../billing/index.js';
import { type Device, Devices } from '../devices/index.js';
import { DocumentQuota, type DocumentUsage } from '../files/index.js';
import { TokenForms, type TokenOverview } from './token-forms.js';
import { type ListedWorkspace, WorkspaceForms } from './workspace-forms.js';

/** Storage usage of an account. */
interface StoredThings {
  readonly documents: DocumentUsage;
  readonly storage: StorageUsage;
  readonly workspaceUsage: readonly ListedWorkspace[];
}

@Injectable()
export class StorageOverview {
  constructor(
    private readonly documents: DocumentQuota,
    private readonly assets: StorageQuota,
    private readonly workspaceForms: WorkspaceForms,
  ) {}

  /** Sequential: a page must not take several connections at once. */
  async of(userId: string): Promise<StoredThings> {
    return {
      documents: await this.documents.usage(userId),
      storage: await this.assets.usage(userId),
      workspaceUsage: await this.workspaceForms.list(userId),
    };
  }
}

/** How a user signs in, and where the user is signed in. */
interface SignIns {
  readonly sessions: readonly ListedSession[];
  /** Unused backup codes, or null without a second factor. */
  readonly codesLeft: number | null;
  readonly passkeys: readonly ListedPasskey[];
  readonly isAdministrator: boolean;
}

@Injectable()
export class SignInOverview {
  constructor(
    private readonly userSessions: UserSessions,
    private readonly secondFactors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly administrators: Administrators,
  ) {}

  async of({ userId, id }: BrowserSession): Promise<SignIns> {
    return {
      sessions: await this.userSessions.list(userId, id),
      codesLeft: await this.secondFactors.codesLeft(userId),
      passkeys: await this.passkeys.list(userId),
      isAdministrator: await this.administrators.isPromoted(userId),
    };
  }
}

/** How many devices are listed. */
export const MOST_DEVICES = 100;

/** Everything the account page shows, from the services behind the API. */
export interface Overview extends TokenOverview, StoredThings, SignIns {
  readonly subscription: Subscription;
  readonly devices: readonly Device[];
}

@Injectable()
export class AccountOverview {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly storage: StorageOverview,
    private readonly signIns: SignInOverview,
    private readonly devices: Devices,
    private readonly tokenForms: TokenForms,
  ) {}

  /** Sequential: a page must not take several connections at once. */
  async of(session: BrowserSession): Promise<Overview> {
    const { userId } = session;
    return {
      subscription: await this.subscriptions.of(userId),
      ...(await this.storage.of(userId)),
      ...(await this.signIns.of(session)),
      devices: await this.devices.newest(userId, MOST_DEVICES),
      ...(await this.tokenForms.overview(userId)),
    };
  }
}
