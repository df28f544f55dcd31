import { Injectable } from '@nestjs/common';
import { ContentsOfWorkspaces, type WorkspaceContents } from '../../domain/accounts/index.js';
import { StorageQuota, type StorageUsage } from '../../domain/assets/index.js';
import {
  Administrators,
  type BrowserSession,
  type ListedPasskey,
  type LinkState,
  type ListedSession,
  Passkeys,
  ProviderLinks,
  SecondFactors,
  UserSessions,
} from '../../domain/auth/index.js';
import { type Subscription, Subscriptions } from '../../domain/billing/index.js';
import { type Device, Devices } from '../../domain/devices/index.js';
import { DocumentQuota, type DocumentUsage } from '../../domain/files/index.js';
import type { MutableNotice } from '../../domain/accounts/notices/index.js';
import { NoticesForm } from './notices-form.js';
import { TokenForms, type TokenOverview } from './token-forms.js';

export const MOST_DEVICES = 100;

/** What an account has. */
interface Belongings {
  readonly documents: DocumentUsage;
  readonly storage: StorageUsage;
  readonly listed: readonly WorkspaceContents[];
  readonly devices: readonly Device[];
}

@Injectable()
export class BelongingsOverview {
  constructor(
    private readonly documents: DocumentQuota,
    private readonly assets: StorageQuota,
    private readonly contents: ContentsOfWorkspaces,
    private readonly devices: Devices,
  ) {}

  async of(userId: string): Promise<Belongings> {
    return {
      documents: await this.documents.usage(userId),
      storage: await this.assets.usage(userId),
      listed: await this.contents.of(userId),
      devices: await this.devices.newest(userId, MOST_DEVICES),
    };
  }
}

/** The ways in which a user signs in, the sessions, and the access to the admin page. */
interface SignIns {
  /** Unused backup codes, or null without a second factor. */
  readonly codesLeft: number | null;
  readonly passkeys: readonly ListedPasskey[];
  readonly isAdministrator: boolean;
  /** Whether the admin page opens in this session: a factor must have been given in it. */
  readonly opensAdminPage: boolean;
  readonly sessions: readonly ListedSession[];
  readonly link: LinkState;
}

@Injectable()
export class SignInOverview {
  constructor(
    private readonly secondFactors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly administrators: Administrators,
    private readonly userSessions: UserSessions,
    private readonly providerLinks: ProviderLinks,
  ) {}

  async of(session: BrowserSession): Promise<SignIns> {
    const { userId, id } = session;
    const isAdministrator = await this.administrators.isPromoted(userId);
    return {
      codesLeft: await this.secondFactors.codesLeft(userId),
      passkeys: await this.passkeys.list(userId),
      isAdministrator,
      opensAdminPage: isAdministrator && (await this.administrators.isAdmitted(session)),
      sessions: await this.userSessions.list(userId, id),
      link: await this.providerLinks.state(userId),
    };
  }
}

/** Everything the account page shows, from the services behind the API. */
export interface Overview extends TokenOverview, Belongings, SignIns {
  readonly subscription: Subscription;
  /** The kinds of mail that are on; undefined where the service sends none that can be turned off. */
  readonly wantedNotices: readonly MutableNotice[] | undefined;
}

@Injectable()
export class AccountOverview {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly belongings: BelongingsOverview,
    private readonly signIns: SignInOverview,
    private readonly noticesForm: NoticesForm,
    private readonly tokenForms: TokenForms,
  ) {}

  /** Sequential: a page must not take several connections at once. */
  async of(session: BrowserSession): Promise<Overview> {
    const { userId } = session;
    return {
      subscription: await this.subscriptions.of(userId),
      ...(await this.belongings.of(userId)),
      ...(await this.signIns.of(session)),
      wantedNotices: await this.noticesForm.wanted(userId),
      ...(await this.tokenForms.overview(userId)),
    };
  }
}
