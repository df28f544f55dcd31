import { Module } from '@nestjs/common';
import { AccessTokensModule } from '../../domain/auth/access-tokens/index.js';
import { AssetsModule } from '../../domain/assets/index.js';
import { AuthModule } from '../../domain/auth/index.js';
import { BillingModule } from '../../domain/billing/index.js';
import { DevicesModule } from '../../domain/devices/index.js';
import { ExportModule } from '../../domain/accounts/export/index.js';
import { FilesModule } from '../../domain/files/index.js';
import { NoticesModule } from '../../domain/accounts/notices/index.js';
import { PagesModule } from '../layout/index.js';
import { WorkspacesModule } from '../../domain/workspaces/index.js';
import { Activity, ActivityController } from './activity.controller.js';
import { AccountBelongingsController } from './account-belongings.controller.js';
import { AccountChangesController } from './account-changes.controller.js';
import { AccountEmailController } from './account-email.controller.js';
import { AccountFactorsController } from './account-factors.controller.js';
import { AccountForms } from './account-forms.js';
import { AccountOverview, FactorOverview, SignInOverview, StorageOverview } from './account-overview.js';
import { AccountPageController } from './account-page.controller.js';
import { AccountNoticesController } from './account-notices.controller.js';
import { AccountPasskeysController } from './account-passkeys.controller.js';
import { AccountProviderController } from './account-provider.controller.js';
import { EmailForm } from './email-form.js';
import { InvitationForm } from './invitation-form.js';
import { InvitationController } from './invitation.controller.js';
import { NoticesForm } from './notices-form.js';
import { PasswordForm } from './password-form.js';
import { ProfileForms } from './profile-forms.js';
import { TokenForms } from './token-forms.js';
import { WorkspaceForms } from './workspace-forms.js';
import { AccountsModule } from '../../domain/accounts/index.js';

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
