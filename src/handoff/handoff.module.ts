import { Module } from '@nestjs/common';
import { AccessTokensModule } from '../access-tokens/index.js';
import { AssetsModule } from '../assets/index.js';
import { AuthModule } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { DevicesModule } from '../devices/index.js';
import { FilesModule } from '../files/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccountBelongingsController } from './account/account-belongings.controller.js';
import { AccountDesk } from './account/account-desk.js';
import { AccountOverview } from './account/account-overview.js';
import { AccountPageController } from './account/account-page.controller.js';
import { PasswordDesk } from './account/password-desk.js';
import { StorageOverview } from './account/storage-overview.js';
import { TokenDesk } from './account/token-desk.js';
import { Attempts } from './attempts.js';
import { DesktopHandoffController } from './desktop-handoff.controller.js';
import { EarlyRefusals } from './early-refusals.js';
import { Handoff } from './handoff.service.js';
import { HomeController } from './home.controller.js';
import { PageAssetsController } from './page-assets.controller.js';
import { Targets } from './targets.js';
import { Visits } from './visits.js';
import { WebHandoffController } from './web-handoff.controller.js';

/** Pages for browsers: the handoff to desktop apps and web editors, and the account. */
@Module({
  imports: [
    AuthModule,
    BillingModule,
    WorkspacesModule,
    AccessTokensModule,
    DevicesModule,
    FilesModule,
    AssetsModule,
  ],
  controllers: [
    HomeController,
    DesktopHandoffController,
    WebHandoffController,
    PageAssetsController,
    AccountPageController,
    AccountBelongingsController,
  ],
  providers: [
    AccountDesk,
    AccountOverview,
    Attempts,
    EarlyRefusals,
    Handoff,
    PasswordDesk,
    StorageOverview,
    Targets,
    TokenDesk,
    Visits,
  ],
})
export class HandoffModule {}
