import { Injectable } from '@nestjs/common';
import { SignInPasswords } from './sign-in-passwords.js';
import { PasswordChange } from './password-change.js';
import { PasswordHasher } from './password-hasher.js';
import { WrongPasswords } from './wrong-passwords.js';

/** All that the identity handler is told about passwords. */
@Injectable()
export class IdentityPasswords {
  constructor(
    readonly signIn: SignInPasswords,
    readonly hasher: PasswordHasher,
    readonly passwordChange: PasswordChange,
    readonly wrongPasswords: WrongPasswords,
  ) {}
}
