import { Module } from '@nestjs/common';
import { AuthModule } from '../../domain/auth/index.js';
import { Confirmations } from './confirmations.js';
import { SignInForms } from './sign-in-forms.js';
import { EarlyErrorPages } from './early-error-pages.js';
import { HomeController } from './home.controller.js';
import { PageAssetsController } from './page-assets.controller.js';
import { BrowserRequests } from './browser-requests.js';

/** Shared parts of all browser pages. */
@Module({
  imports: [AuthModule],
  controllers: [HomeController, PageAssetsController],
  providers: [Confirmations, SignInForms, EarlyErrorPages, BrowserRequests],
  exports: [Confirmations, SignInForms, BrowserRequests],
})
export class PagesModule {}
