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
import { AccountNoticesController } from './account-notices.controller.js';
import { AccountOverview, FactorOverview, SignInOverview, StorageOverview } from './account-overview.js';
import { AccountPageController } from './account-page.controller.js';
import { AccountPasskeysController } from './account-passkeys.controller.js';
import { AccountProviderController } from './account-provider.controller.js';
import { Activity, ActivityController } from './activity.js';
import { AccountEmailController, EmailForm } from './email-form.js';
import { InvitationController, InvitationForm } from './invitation.js';
import { NoticesForm } from './notices-form.js';
import { PasswordForm } from './password.js';
import { ProfileForms } from './profile-forms.js';
import { TokenForms } from './token-forms.js';
import { WorkspaceForms } from './workspace-forms.js';

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
    AccountEmailController,
    AccountFactorsController,
    AccountNoticesController,
    AccountPasskeysController,
    AccountProviderController,
    ActivityController,
    InvitationController,
  ],
  providers: [
    AccountForms,
    AccountOverview,
    Activity,
    EmailForm,
    FactorOverview,
    InvitationForm,
    NoticesForm,
    PasswordForm,
    ProfileForms,
    SignInOverview,
    StorageOverview,
    TokenForms,
    WorkspaceForms,
  ],
})
export class AccountPagesModule {}
