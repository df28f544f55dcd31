import { IsEmail } from 'class-validator';
import { IsName } from '../platform/http/index.js';

export class DevLoginRequest {
  @IsEmail()
  email: string;

  @IsName()
  name: string;
}
