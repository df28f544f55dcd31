import { Module } from '@nestjs/common';
import { NoticesModule } from '../../domain/accounts/notices/index.js';
import { AuthModule } from '../../domain/auth/index.js';
import { PagesModule } from '../layout/index.js';
import { NewAddressController, VerifyController } from './confirm.js';
import { ForgotController, ResetController } from './forgot.js';
import { LinkForms } from './link-forms.js';
import { UnsubscribeController } from './unsubscribe.js';

/** The pages for forgotten passwords, and those behind the links in mails. */
@Module({
  imports: [AuthModule, NoticesModule, PagesModule],
  controllers: [
    ForgotController,
    ResetController,
    VerifyController,
    NewAddressController,
    UnsubscribeController,
  ],
  providers: [LinkForms],
})
export class MailPagesModule {}
