(function_signature name: (identifier) @name) @function
(abstract_class_declaration name: (_) @name) @class
(abstract_method_signature name: (_) @name) @method
(method_signature name: (_) @name) @method
(class_body (public_field_definition name: (_) @name value: [(arrow_function) (function_expression) (generator_function)]) @method)
(class_body (public_field_definition name: (_) @name @asked) @field)
(required_parameter (accessibility_modifier) pattern: (identifier) @name @asked) @field
(interface_body (property_signature name: (_) @name @asked) @field)
(type_alias_declaration value: (object_type (property_signature name: (_) @name @asked) @field))
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(enum_body (property_identifier) @name @asked @constant)
(enum_assignment name: (_) @name @asked) @constant
(internal_module name: (_) @name) @namespace
(internal_module body: (statement_block [(lexical_declaration (variable_declarator name: (identifier) @name) @constant)
  (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant))]))
(module name: (_) @name) @namespace
(ambient_declaration (lexical_declaration "const" (variable_declarator name: (identifier) @name) @constant))
(ambient_declaration [(lexical_declaration (variable_declarator name: (identifier) @name) @variable)
  (variable_declaration (variable_declarator name: (identifier) @name) @variable)])
