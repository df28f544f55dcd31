export { type RejectedSignIn, SignInForms, withAlert } from './sign-in-forms.js';
export { auditSentence } from './audit-words.js';
export { clientName } from './client-name.js';
export { ConfirmField } from './confirm-field.js';
export { Confirmations, type RejectedConfirmation } from './confirmations.js';
export { CodeStep } from './code-step.js';
export { Credentials } from './credentials.js';
export { CopyField, Field, Hidden, SelectField } from './fields.js';
export { Form } from './form.js';
export { inBytes } from './in-bytes.js';
export { NewPasswordField, RevokeTokensChoice } from './new-password-field.js';
export { Layout, Masthead, Time } from './layout.js';
export { asSource, contentPolicy, type Page, pageText, redirect, sendPage } from './page.js';
export {
  SINGLE_SIGN_ON,
  SingleSignOnForm,
  type SingleSignOnOption,
  singleSignOnOption,
  type SingleSignOnPage,
} from './single-sign-on-form.js';
export { PageErrorFilter } from './page-error.filter.js';
export { ANSWERED, FORM, ONWARDS, REFUSED, SUSPENDED } from './pages.docs.js';
export { PasskeyScript } from './passkey-button.js';
export { PagesModule } from './pages.module.js';
export { type BrowserRequest, BrowserRequests, cookieOf, OUT_OF_DATE } from './browser-requests.js';
