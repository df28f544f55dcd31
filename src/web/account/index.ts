import { Module } from '@nestjs/common';
import { ExportModule } from '../../domain/accounts/export/index.js';
import { AccountsModule } from '../../domain/accounts/index.js';
import { NoticesModule } from '../../domain/accounts/notices/index.js';
import { AssetsModule } from '../../domain/assets/index.js';
import { AccessTokensModule } from '../../domain/auth/access-tokens/index.js';
import { AuthModule } from '../../domain/auth/index.js';
import { BillingModule } from '../../domain/billing/index.js';
import { DevicesModule } from '../../domain/devices/index.js';
import { FilesModule } from '../../domain/files/index.js';
import { WorkspacesModule } from '../../domain/workspaces/index.js';
import { PagesModule } from '../layout/index.js';
import { AccountBelongingsController } from './account-belongings.controller.js';
import { AccountChangesController } from './account-changes.controller.js';
import { AccountFactorsController } from './account-factors.controller.js';
import { AccountForms } from './account-forms.js';
import { AccountMailController } from './account-mail.controller.js';
import { AccountOverview, BelongingsOverview, SignInOverview } from './account-overview.js';
import { AccountPageController } from './account-page.controller.js';
import { AccountPasskeysController, AccountProviderController } from './account-passkeys.controller.js';
import { Activity, ActivityController } from './activity.js';
import { InvitationController } from './invitation.js';
import { NoticesForm } from './notices-form.js';
import { TokenForms } from './token-forms.js';

/** The account page and the page behind an invitation. */
@Module({
  imports: [
    AccessTokensModule,
    AccountsModule,
    AssetsModule,
    AuthModule,
    BillingModule,
    DevicesModule,
    ExportModule,
    FilesModule,
    NoticesModule,
    PagesModule,
    WorkspacesModule,
  ],
  controllers: [
    AccountPageController,
    AccountBelongingsController,
    AccountChangesController,
    AccountFactorsController,
    AccountMailController,
    AccountPasskeysController,
    AccountProviderController,
    ActivityController,
    InvitationController,
  ],
  providers: [
    AccountForms,
    AccountOverview,
    Activity,
    BelongingsOverview,
    NoticesForm,
    SignInOverview,
    TokenForms,
  ],
})
export class AccountPagesModule {}
