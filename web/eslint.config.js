import vueI18n from '@intlify/eslint-plugin-vue-i18n'
import { defineConfigWithVueTs, vueTsConfigs } from '@vue/eslint-config-typescript'
import vue from 'eslint-plugin-vue'
import accessibility from 'eslint-plugin-vuejs-accessibility'

export default defineConfigWithVueTs(
  { ignores: ['node_modules', '**/*.gen.ts'] },
  vue.configs['flat/recommended'],
  vueTsConfigs.strict,
  accessibility.configs['flat/recommended'],
  {
    files: ['src/**/*.vue', 'src/**/*.ts'],
    plugins: { '@intlify/vue-i18n': vueI18n },
    rules: {
      // Words for people live in src/i18n, in both languages.
      '@intlify/vue-i18n/no-raw-text': [
        'error',
        {
          ignorePattern: '^[-–—·•×→/|#:.,()+&%0-9\\s]*$',
          attributes: { '/.+/': ['title', 'aria-label', 'placeholder', 'alt', 'label'] },
        },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      'vue/block-lang': ['error', { script: { lang: 'ts' } }],
      'vue/component-api-style': ['error', ['script-setup']],
      // HTML comes from one component, which sanitises it.
      'vue/no-v-html': 'error',
      'vue/max-attributes-per-line': 'off',
      'vue/singleline-html-element-content-newline': 'off',
      'vue/html-self-closing': 'off',
      'vue/html-indent': 'off',
      'vue/html-closing-bracket-newline': 'off',
      'vue/multiline-html-element-content-newline': 'off',
      'vue/first-attribute-linebreak': 'off',
      'vue/attributes-order': 'off',
      'vuejs-accessibility/label-has-for': [
        'error',
        {
          controlComponents: ['NInput', 'NInputNumber', 'NSelect', 'NCheckbox', 'NSwitch', 'NDatePicker'],
          required: { some: ['nesting', 'id'] },
        },
      ],
      'max-lines': ['error', { max: 400 }],
    },
  },
  { files: ['src/**/*.vue'], rules: { 'max-lines': ['error', { max: 200 }] } },
  { files: ['scripts/**', '*.js'], rules: { '@typescript-eslint/no-unused-vars': 'error' } },
)
