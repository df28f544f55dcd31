import { Module } from '@nestjs/common';
import { AuthModule } from '../../domain/auth/index.js';
import { BrowserRequests } from './browser-requests.js';
import { EarlyErrorPages } from './error-page.js';
import { HomeController } from './home.js';
import { PageAssetsController } from './page-assets.js';
import { Confirmations, SignInForms } from './sign-in-forms.js';

export * from './audit-words.js';
export * from './browser-requests.js';
export * from './fields.js';
export * from './pages.docs.js';
export * from './sign-in-forms.js';
export { CodeStep } from './code-step.js';
export {
  Credentials,
  PasskeyScript,
  SINGLE_SIGN_ON,
  SingleSignOnForm,
  type SingleSignOnOption,
  singleSignOnOption,
  type SingleSignOnPage,
} from './credentials.js';
export {
  asSource,
  contentPolicy,
  Layout,
  Masthead,
  type Page,
  pageText,
  redirect,
  sendPage,
  SitePage,
  Time,
} from './layout.js';
export { PageErrorFilter } from './error-page.js';

/** Shared parts of all browser pages. */
@Module({
  imports: [AuthModule],
  controllers: [HomeController, PageAssetsController],
  providers: [Confirmations, SignInForms, EarlyErrorPages, BrowserRequests],
  exports: [Confirmations, SignInForms, BrowserRequests],
})
export class PagesModule {}
