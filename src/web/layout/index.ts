import { Module } from '@nestjs/common';
import { AuthModule } from '../../domain/auth/index.js';
import { BrowserRequests } from './browser-requests.js';
import { EarlyErrorPages } from './error-page.js';
import { HomeController } from './home.js';
import { PageAssetsController } from './page-assets.js';
import { Confirmations, SignInForms } from './sign-in-forms.js';

export {
  Confirmations,
  type RejectedConfirmation,
  type RejectedSignIn,
  SignInForms,
  withAlert,
} from './sign-in-forms.js';
export { auditSentence } from './audit-words.js';
export {
  type BrowserRequest,
  BrowserRequests,
  clientName,
  cookieOf,
  Form,
  OUT_OF_DATE,
} from './browser-requests.js';
export {
  ConfirmField,
  CopyField,
  Field,
  Hidden,
  inBytes,
  NewPasswordField,
  RevokeTokensChoice,
  SelectField,
} from './fields.js';
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
  Time,
} from './layout.js';
export { PageErrorFilter } from './error-page.js';
export { ANSWERED, FORM, ONWARDS, REFUSED, SUSPENDED } from './pages.docs.js';

/** Shared parts of all browser pages. */
@Module({
  imports: [AuthModule],
  controllers: [HomeController, PageAssetsController],
  providers: [Confirmations, SignInForms, EarlyErrorPages, BrowserRequests],
  exports: [Confirmations, SignInForms, BrowserRequests],
})
export class PagesModule {}
