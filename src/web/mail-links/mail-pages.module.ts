import { Module } from '@nestjs/common';
import { AuthModule } from '../../domain/auth/index.js';
import { NoticesModule } from '../../domain/accounts/notices/index.js';
import { PagesModule } from '../layout/index.js';
import { ConfirmForms } from './confirm-forms.js';
import { ForgotController } from './forgot.controller.js';
import { LinkForms } from './link-forms.js';
import { NewAddressController } from './new-address.controller.js';
import { ResetController } from './reset.controller.js';
import { UnsubscribeController } from './unsubscribe.controller.js';
import { VerifyController } from './verify.controller.js';

/** The pages behind mails: a forgotten password, and what the links in mails open. */
@Module({
  imports: [AuthModule, NoticesModule, PagesModule],
  controllers: [
    ForgotController,
    ResetController,
    VerifyController,
    NewAddressController,
    UnsubscribeController,
  ],
  providers: [ConfirmForms, LinkForms],
})
export class MailPagesModule {}
