export { SignInPagesModule } from './sign-in-pages.module.js';
