import { Global, Module } from '@nestjs/common';
import { Doctor } from './doctor.js';

@Global()
@Module({ providers: [Doctor], exports: [Doctor] })
export class DoctorModule {}
