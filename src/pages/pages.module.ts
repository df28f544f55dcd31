import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { SignInForms } from './sign-in-forms.js';
import { EarlyRefusals } from './early-refusals.js';
import { HomeController } from './home.controller.js';
import { PageAssetsController } from './page-assets.controller.js';
import { BrowserRequests } from './browser-requests.js';

/** What all pages for browsers share. */
@Module({
  imports: [AuthModule],
  controllers: [HomeController, PageAssetsController],
  providers: [SignInForms, EarlyRefusals, BrowserRequests],
  exports: [SignInForms, BrowserRequests],
})
export class PagesModule {}
